//! Tokens are kept as hashes, and where the program was exposed is not forgotten.

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

#[test]
fn t29_a_peer_has_the_hash_of_its_latest_token() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    let (a, b) = (AzollaId::new("az-a").unwrap(), AzollaId::new("az-b").unwrap());
    let home = Home::open(&path).unwrap();
    assert!(home.peer_tokens().unwrap().is_empty());
    home.set_peer_token(&b, &TokenHash::of("two"), at(2)).unwrap();
    home.set_peer_token(&a, &TokenHash::of("one"), at(1)).unwrap();
    home.set_peer_token(&a, &TokenHash::of("one again"), at(3)).unwrap();
    let kept = Home::open(&path).unwrap().peer_tokens().unwrap();
    let shown: Vec<_> = kept.iter().map(|token| (&token.azolla_id, token.made_at)).collect();
    assert_eq!(shown, [(&a, at(3)), (&b, at(2))]);
    assert!(kept[0].hash.is(&TokenHash::of("one again")) && !kept[0].hash.is(&TokenHash::of("one")));
    home.drop_peer_token(&a).unwrap();
    home.drop_peer_token(&a).unwrap();
    assert_eq!(home.peer_tokens().unwrap().len(), 1);
}

#[test]
fn t26_where_it_was_exposed_is_on_record() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(&directory.path().join("home.sqlite")).unwrap();
    home.expose("0.0.0.0:7517", at(1)).unwrap();
    home.expose("0.0.0.0:7517", at(9)).unwrap();
    let recorded = Exposure { listen: "0.0.0.0:7517".to_owned(), first_at: at(1), last_at: at(9) };
    assert_eq!(home.exposures().unwrap(), [recorded]);
}
