//! Looking for words in titles, messages, calls and decisions.

use holdstead_core::SearchWords;
use holdstead_protocol::OwnerId;
use holdstead_protocol::api::{Found, SearchPage};
use holdstead_store::{FoundPlace, SearchQuery};

use crate::{Gateway, GatewayError, cursor};

impl Gateway {
    /// A page of what has all the words, the newest first.
    pub async fn search(
        &self,
        owner: &OwnerId,
        words: SearchWords,
        before: Option<FoundPlace>,
        limit: u32,
    ) -> Result<SearchPage, GatewayError> {
        let query = SearchQuery { owner: owner.clone(), words: words.clone(), kind: None, before, limit };
        let found = self.inner.journal.search(query).await?;
        let next = found.last().filter(|_| found.len() == limit as usize);
        let next = next.map(|last| cursor::found(last.place));
        let results = found.into_iter().map(|found| Found {
            kind: found.kind,
            session_id: found.place.session,
            session_title: found.session_title,
            interaction_id: found.interaction,
            seq: found.place.seq,
            at: found.place.at,
            text: words.snippet(&found.text),
        });
        Ok(SearchPage { results: results.collect(), next })
    }
}
