//! Which call a piece of a stream belongs to.

use super::wire::Call;

/// The calls of an answer so far, and how its pieces name them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    index: Option<u64>,
    /// The id as the host gave it; empty where it gave none.
    given: String,
    /// The id of the call in the message: the given one, unless that is empty or taken.
    id: String,
    name: String,
    /// Arguments that came before the name.
    early: String,
    started: bool,
    last_byte: Option<u8>,
}

/// What a piece is to a call.
pub(super) struct Placed<'a> {
    pub(super) slot: usize,
    /// The call begins with this id and name.
    pub(super) start: Option<(&'a str, &'a str)>,
    /// Arguments that came before the call had a name.
    pub(super) early: &'a str,
    /// Whether the piece's arguments can be handed on.
    pub(super) started: bool,
}

impl Calls {
    /// Finds the call of a piece of a stream.
    pub(super) fn place(&mut self, piece: &Call<'_>) -> Placed<'_> {
        match self.find(piece) {
            Some(slot) => self.take(slot, piece),
            None => self.begin(piece),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Opens a call of its own.
    pub(super) fn begin(&mut self, piece: &Call<'_>) -> Placed<'_> {
        let given: &str = &piece.id.0;
        let slot = self.calls.len();
        let taken = |id: &str| self.calls.iter().any(|known| known.id == id);
        let mut id = match given {
            "" => format!("call_{slot}"),
            given => given.to_owned(),
        };
        while taken(&id) {
            id = format!("{id}_{slot}");
        }
        self.calls.push(Known {
            index: piece.index,
            given: given.to_owned(),
            id,
            name: String::new(),
            early: String::new(),
            started: false,
            last_byte: None,
        });
        self.take(slot, piece)
    }

    /// Whether every call has a name.
    pub(super) fn are_whole(&self) -> bool {
        self.calls.iter().all(|known| known.started)
    }

    /// The index decides, then the id, then the order; but an index that comes with another id, or
    /// with the start of another call, was not meant.
    fn find(&self, piece: &Call<'_>) -> Option<usize> {
        let id: &str = &piece.id.0;
        let known = match piece.index {
            Some(index) => self.last(|known| known.index == Some(index))?,
            None if !id.is_empty() => {
                return self.last(|known| known.given == id);
            }
            None => self.calls.len().checked_sub(1)?,
        };
        self.calls[known].continues_with(piece).then_some(known)
    }

    fn last(&self, is: impl Fn(&Known) -> bool) -> Option<usize> {
        self.calls.iter().rposition(is)
    }

    fn take(&mut self, slot: usize, piece: &Call<'_>) -> Placed<'_> {
        let known = &mut self.calls[slot];
        let name = &*piece.function.name.0;
        let arguments = &*piece.function.arguments.0;
        let begins = !known.started && !name.is_empty();
        if begins {
            known.name = name.to_owned();
            known.started = true;
        } else if !known.started {
            known.early.push_str(arguments);
        }
        known.last_byte = arguments.trim_end().bytes().last().or(known.last_byte);
        Placed {
            slot,
            start: begins.then_some((known.id.as_str(), known.name.as_str())),
            early: if begins { &known.early } else { "" },
            started: known.started,
        }
    }
}

impl Known {
    /// Whether a piece with the same index, or with none, is more of this call.
    fn continues_with(&self, piece: &Call<'_>) -> bool {
        let id: &str = &piece.id.0;
        if !id.is_empty() && !self.given.is_empty() {
            return id == self.given;
        }
        let function = &piece.function;
        if function.name.0.is_empty() || !self.started {
            return true;
        }
        let starts_anew =
            function.arguments.0.starts_with('{') && matches!(self.last_byte, Some(b'}'));
        function.name.0 == *self.name && !starts_anew
    }
}
