//! What is told to those who get no other answer.

use axum::body::to_bytes;

use super::*;

async fn told(error: ApiError) -> (u16, Value) {
    let response = error.into_response();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_refusal_is_no_broken_request_and_says_what_helps() {
    let hint = Some("azolla triage".to_owned());
    let error = json!({"code": "refused", "message": "it is PROCESSED", "hint": "azolla triage"});
    assert_eq!(told(ApiError::refused("it is PROCESSED", hint)).await, (409, json!({"error": error})));
    let error = json!({"code": "refused", "message": "not here"});
    assert_eq!(told(ApiError::refused("not here", None)).await, (409, json!({"error": error})));
    let error = json!({"code": "invalid_request", "message": "no JSON"});
    assert_eq!(told(ApiError::invalid("no JSON")).await, (400, json!({"error": error})));
}
