//! Room for connections: so many at once, and so many of one address, so that none of them takes it all. One that waits for
//! a request gives way to a new one, the one that waits longest first: whoever only holds connections open shuts nobody out.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Connections at once. More wait until one has ended.
const CONNECTIONS_MAX: usize = 256;
/// Connections of one address. Where all of them are being answered, more are closed at once: to let them wait would hold up
/// others. A proxy on this machine is one address, so this is not few.
const OF_ONE_MAX: usize = CONNECTIONS_MAX / 2;

/// All the room there is.
pub(super) struct Places {
    all: Arc<Semaphore>,
    taken: Arc<Mutex<Taken>>,
}

/// Who has a place.
#[derive(Default)]
struct Taken {
    connections: BTreeMap<u64, Connection>,
    /// Counts connections, and how often one began to wait.
    count: u64,
}

struct Connection {
    address: IpAddr,
    /// Since when it waits for a whole request, as a count; none while one is answered.
    waits_since: Option<u64>,
    end: Arc<Notify>,
}

/// A place of one address, taken until this is dropped or has to be given up.
pub(super) struct Share {
    number: u64,
    end: Arc<Notify>,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS_MAX)), taken: Arc::default() }
    }

    /// Waits until there is room for the connection that has this share. Where all of it is taken, another connection that
    /// waits for a request gives way.
    pub(super) async fn room(&self, share: &Share) -> std::io::Result<OwnedSemaphorePermit> {
        if let Ok(room) = self.all.clone().try_acquire_owned() {
            return Ok(room);
        }
        lock(&self.taken).give_way(|number, _| number != share.number);
        self.all.clone().acquire_owned().await.map_err(std::io::Error::other)
    }

    /// Takes from the share of an address. Where that is used up, one of its connections that waits for a request gives
    /// way; none if every one of them is being answered.
    pub(super) fn share(&self, remote: IpAddr) -> Option<Share> {
        let address = one(remote);
        let mut taken = lock(&self.taken);
        let of_one = taken.connections.values().filter(|connection| connection.address == address).count();
        if of_one >= OF_ONE_MAX && !taken.give_way(|_, connection| connection.address == address) {
            return None;
        }
        let (number, end) = (taken.tick(), Arc::new(Notify::new()));
        let connection = Connection { address, waits_since: Some(number), end: end.clone() };
        taken.connections.insert(number, connection);
        Some(Share { number, end, taken: self.taken.clone() })
    }
}

impl Taken {
    fn tick(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Ends the connection that waits longest among these, and tells whether there was one.
    fn give_way(&mut self, is_one: impl Fn(u64, &Connection) -> bool) -> bool {
        let waiting = self.connections.iter().filter(|(number, connection)| is_one(**number, connection));
        let waiting = waiting.filter_map(|(number, connection)| Some((connection.waits_since?, *number)));
        let Some((_, oldest)) = waiting.min() else { return false };
        if let Some(connection) = self.connections.remove(&oldest) {
            connection.end.notify_one();
        }
        true
    }
}

impl Share {
    /// Waits until the connection has to give way to another.
    pub(super) async fn given_up(&self) {
        self.end.notified().await;
    }

    /// Notes that a whole request is there: it is answered. False if the connection gave way just before.
    pub(super) fn is_asked(&self) -> bool {
        let mut taken = lock(&self.taken);
        let connection = taken.connections.get_mut(&self.number);
        connection.map(|connection| connection.waits_since = None).is_some()
    }

    /// Notes that the request was answered: the connection waits for another.
    pub(super) fn waits(&self) {
        let mut taken = lock(&self.taken);
        let now = taken.tick();
        if let Some(connection) = taken.connections.get_mut(&self.number) {
            connection.waits_since = Some(now);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        lock(&self.taken).connections.remove(&self.number);
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what counts as one address: whoever has one of IPv6 has all of its network.
pub(crate) fn one(remote: IpAddr) -> IpAddr {
    match remote.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests;
