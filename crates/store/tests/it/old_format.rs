//! Formats of earlier versions: opening them is refused, and changes nothing.

use holdstead_store::StoreError;

use crate::fixture::Fixture;

#[tokio::test]
async fn one_of_several_databases_is_refused() {
    let lists_others = "INSERT INTO shard_databases (number, id) VALUES (1, gen_random_uuid())";
    let is_listed = "INSERT INTO keys (name, fingerprint) VALUES ('database', '\\x00')";
    for row in [lists_others, is_listed] {
        let fixture = Fixture::postgres().await;
        fixture.run("", row).await;
        let refused = holdstead_store::open(&fixture.url()).await.map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::OldFormat { .. }), "{row}: {refused}");
        assert!(refused.to_string().contains("several databases"), "{refused}");
        fixture.end().await;
    }
}
