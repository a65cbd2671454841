//! When a chat asks where its tools come from.

use super::Chat;
use crate::{ChatError, Event, Message};

impl Chat {
    /// Asks the sources of its tools which they have now, as it does by itself before it answers a question.
    ///
    /// # Errors
    ///
    /// [`ToolSource`](crate::ChatErrorKind::ToolSource) if one cannot say that never could. Where one could
    /// before, its tools stay as they were, with an [`Event::Warning`].
    pub async fn refresh_tools(&mut self) -> Result<(), ChatError> {
        let hub = self.hub.clone();
        let warn = |text: String| hub.say(|| Event::Warning(text));
        let refreshed = self.sources.refresh(warn).await;
        if let Some(tools) = self.sources.changed() {
            self.tools = tools;
        }
        refreshed.map_err(ChatError::tool_source)?;
        self.listed_at = self.transcript.messages().len();
        Ok(())
    }

    /// Asks the sources that were never asked.
    pub(crate) async fn list_tools(&mut self) -> Result<(), ChatError> {
        match self.sources.is_incomplete() {
            true => self.refresh_tools().await,
            false => Ok(()),
        }
    }

    /// Whether the next request is the first one after a question, for which the sources were not asked yet.
    pub(super) fn begins_turn(&self) -> bool {
        let messages = self.transcript.messages();
        let asked = matches!(messages.last(), Some(Message::User(_)));
        let known = self.listed_at == messages.len() && !self.sources.is_incomplete();
        !self.sources.is_empty() && !known && (asked || self.sources.is_incomplete())
    }

    /// Asks them, unless and until cancelled.
    pub(super) async fn ask_sources(&mut self) -> Option<Result<(), ChatError>> {
        let cancellation = self.cancellation.clone();
        cancellation.guard(self.refresh_tools()).await
    }
}
