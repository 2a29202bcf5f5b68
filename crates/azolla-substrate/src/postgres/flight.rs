//! A claim or a commit as one flight: every statement is sent before the first answer is awaited, so that a whole
//! transaction is one round trip. The server itself stops at the first statement that fails or misses.

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use deadpool_postgres::{Object, Pool};
use futures_util::TryStreamExt;
use tokio_postgres::{
    Error,
    types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

use super::{
    fault::{Failure, failure, fault, pool_fault},
    sql,
};
use crate::{
    error::SubstrateError,
    statement::{Cell, Row, Statement, Step},
};

/// How long any one operation may take before its connection is given up: a black hole gives no error.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// A pooled connection that goes back to the pool only if its last operation ended in good order. Otherwise it is
/// closed, and the server rolls back whatever it had begun.
pub(super) struct Connection {
    object: Option<Object>,
}

impl Connection {
    pub(super) async fn take(pool: &Pool) -> Result<Self, SubstrateError> {
        Ok(Self { object: Some(pool.get().await.map_err(pool_fault)?) })
    }

    pub(super) fn client(&self) -> &Object {
        self.object.as_ref().expect("a connection is given back once")
    }

    /// Gives the connection back.
    pub(super) fn keep(mut self) {
        drop(self.object.take());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(&Type::INT8, out),
            Self::Text(text) => text.to_sql(&Type::TEXT, out),
        }
    }

    fn accepts(of: &Type) -> bool {
        // Every parameter of ours is one of the two; a test prepares every statement and checks.
        *of == Type::INT8 || *of == Type::TEXT
    }

    to_sql_checked!();
}

/// Runs one statement that reads, and returns its rows.
pub(super) async fn query(connection: &Connection, statement: &Statement) -> Result<Vec<Row>, Error> {
    let client = connection.client();
    let prepared = client.prepare_cached(statement.sql).await?;
    let values: Vec<&(dyn ToSql + Sync)> =
        statement.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    client.query(&prepared, &values).await?.iter().map(row).collect()
}

/// Runs `steps` as one transaction in one flight, and returns the rows of the last of them.
pub(super) async fn fly(connection: Connection, steps: &[Step]) -> Result<Vec<tokio_postgres::Row>, Failure> {
    let client = connection.client();
    let mut prepared = Vec::with_capacity(steps.len());
    for step in steps {
        let text = sql::required(step.statement.sql, step.expect);
        // Nothing has been sent yet, so this is no unknown outcome.
        prepared.push(client.prepare_cached(&text).await.map_err(|error| Failure::Refused(fault(error)))?);
    }
    if client.is_closed() {
        return Err(Failure::Refused(SubstrateError::Unavailable("the connection had ended".into())));
    }
    let frame = |text| async move { client.batch_execute(text).await.map(|()| Vec::new()) };
    let mut waiting: Vec<BoxAnswer<'_>> = Vec::with_capacity(steps.len() + 2);
    waiting.push(Box::pin(frame(sql::BEGIN)));
    for (step, statement) in steps.iter().zip(&prepared) {
        waiting.push(Box::pin(async move {
            client.query_raw(statement, step.statement.values.iter()).await?.try_collect().await
        }));
    }
    waiting.push(Box::pin(frame(sql::COMMIT)));

    let mut answers = in_order(waiting).await.into_iter();
    let mut answer = || answers.next().expect("every message of the flight has an answer");
    let begun = answer();
    let done: Vec<_> = steps.iter().map(|_| answer()).collect();
    let committed = answer();
    if committed.is_ok() {
        // The transaction is over, if only by a rollback. A COMMIT that failed may have left it open, and whoever got
        // the connection next would be refused.
        connection.keep();
    }
    // The first error is the reason; later statements only report that there is no transaction. Without BEGIN the
    // server refused to write.
    begun.map_err(|error| failure(error, "journal", 0))?;
    let mut rows = Vec::new();
    for (position, (step, answer)) in steps.iter().zip(done).enumerate() {
        rows = answer.map_err(|error| failure(error, step.artifact, position))?;
    }
    committed.map_err(|error| failure(error, "journal", steps.len()))?;
    Ok(rows)
}

type Answer = Result<Vec<tokio_postgres::Row>, Error>;
type BoxAnswer<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// Polls every future in order, so that their messages leave in order, until all have ended.
async fn in_order(mut waiting: Vec<BoxAnswer<'_>>) -> Vec<Answer> {
    let mut results: Vec<Option<Answer>> = waiting.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in waiting.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// Reads a row: text, integers and null are all that our tables hold.
pub(super) fn row(row: &tokio_postgres::Row) -> Result<Row, Error> {
    let cells = row.columns().iter().enumerate().map(|(index, column)| match *column.type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(index).map(|number| number.map_or(Cell::Null, Cell::Int)),
        Type::INT4 => row
            .try_get::<_, Option<i32>>(index)
            .map(|number| number.map_or(Cell::Null, |n| Cell::Int(n.into()))),
        _ => row.try_get::<_, Option<String>>(index).map(|text| text.map_or(Cell::Null, Cell::Text)),
    });
    cells.collect::<Result<_, _>>().map(Row)
}
