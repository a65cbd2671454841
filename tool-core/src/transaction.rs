//! The transaction in which a call acts.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::ToolError;

/// A transaction that is lent to a call.
pub(crate) trait Lent: Send {
    fn inner(&self) -> Option<&(dyn Any + Send)>;

    fn inner_mut(&mut self) -> Option<&mut (dyn Any + Send)>;
}

/// The transaction in which a tool acts: see [`ToolCall::transaction`](crate::ToolCall::transaction). It
/// dereferences to the store's own type.
pub struct ToolTransaction<T> {
    lent: Box<dyn Lent>,
    of: PhantomData<fn() -> T>,
}

impl<T: Send + 'static> ToolTransaction<T> {
    pub(crate) fn of(lent: Box<dyn Lent>) -> Result<Self, ToolError> {
        match lent.inner().is_some_and(|inner| inner.is::<T>()) {
            true => Ok(ToolTransaction {
                lent,
                of: PhantomData,
            }),
            false => Err(ToolError::new(format!(
                "the transactions of the store of this chat are no `{}`",
                std::any::type_name::<T>()
            ))),
        }
    }
}

impl<T: Send + 'static> Deref for ToolTransaction<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let inner = self.lent.inner().and_then(|inner| inner.downcast_ref());
        inner.expect("the type was looked at when it was lent")
    }
}

impl<T: Send + 'static> DerefMut for ToolTransaction<T> {
    fn deref_mut(&mut self) -> &mut T {
        let inner = self.lent.inner_mut().and_then(|inner| inner.downcast_mut());
        inner.expect("the type was looked at when it was lent")
    }
}

impl<T> fmt::Debug for ToolTransaction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolTransaction").finish_non_exhaustive()
    }
}
