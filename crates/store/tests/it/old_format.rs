//! Formats of earlier versions: opening them is refused, and changes nothing.

use holdstead_store::StoreError;

use crate::commands::{message, open};
use crate::fixture::Fixture;

pub(crate) async fn compacted_text_is_refused(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "compacted").await;
    journal.append(session, message("hello")).await.expect("said");
    // As the last version with compaction left it: one event says that text was compacted.
    let sql =
        "UPDATE events SET type = 'words_gathered' WHERE seq = 2; UPDATE sessions SET state_version = 17";
    fixture.run(sql, sql).await;
    let Some(url) = fixture.place_url() else { return };
    let refused = holdstead_store::open(&url).await.map(drop).expect_err("it is refused");
    assert!(matches!(refused, StoreError::OldFormat { .. }), "{refused}");
    assert!(refused.to_string().contains(&session.to_string()), "{refused}");
    assert_eq!(fixture.count("SELECT count(*) FROM events").await, 2, "nothing was changed");
}

#[tokio::test]
async fn one_of_several_databases_is_refused() {
    let lists_others = "INSERT INTO shard_databases (number, id) VALUES (1, gen_random_uuid())";
    let is_listed = "INSERT INTO keys (name, fingerprint) VALUES ('database', '\\x00')";
    for row in [lists_others, is_listed] {
        let fixture = Fixture::postgres().await;
        fixture.run("", row).await;
        let refused = holdstead_store::open(&fixture.url()).await.map(drop).expect_err("it is refused");
        assert!(matches!(refused, StoreError::OldFormat { .. }), "{row}: {refused}");
        assert!(refused.to_string().contains("several databases"), "{refused}");
        fixture.end().await;
    }
}
