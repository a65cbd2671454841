//! What becomes of calls whose runs were interrupted.

use super::CallState;
use super::driver::Driver;
use crate::{AfterCrash, Decision, Outcome, ToolResult};

impl Driver<'_> {
    /// Does with a call whose run was interrupted what its tool declares for that.
    pub(super) fn recover(&mut self, index: usize) {
        let pending = &mut self.round.calls[index];
        let tool = self.tools.find(&pending.call.name);
        let key = pending.call.idempotency_key();
        let is_apart = self.outbox.is_apart(key) || self.outbox.has_unkept(key);
        pending.possibly_done |= !is_apart;
        pending.interruptions += u32::from(!is_apart);
        let interruptions = pending.interruptions;
        match tool.map_or(AfterCrash::Rerun, |tool| tool.definition().after_crash()) {
            // It ended, or goes on where nobody could stop it: it does not run again.
            _ if is_apart => pending.state = CallState::Answered,
            AfterCrash::Rerun if interruptions >= self.max_attempts => {
                let text = format!(
                    "All {interruptions} runs of this call were interrupted, so that it is not run again. \
                     Whether it took effect is not known."
                );
                let result = ToolResult::new(&pending.call, Outcome::Unknown, text);
                self.record(index, result);
            }
            AfterCrash::Rerun => pending.state = CallState::Answered,
            AfterCrash::Review => {
                pending.state = CallState::Proposed;
                pending.needs_approval = Some(true);
                pending.decision = Decision::Pending;
            }
            AfterCrash::Report => {
                let text =
                    "The run of this call was interrupted. Whether it took effect is not known.";
                let result = ToolResult::new(&pending.call, Outcome::Unknown, text);
                self.record(index, result);
            }
        }
    }
}
