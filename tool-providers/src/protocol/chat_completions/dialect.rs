//! What the hosts of the protocol do differently.

/// What a host of Chat Completions does in its own way.
///
/// Start from [`Dialect::STANDARD`] and change what differs:
///
/// ```
/// use tool_providers::protocol::chat_completions::Dialect;
///
/// let mut dialect = Dialect::STANDARD;
/// dialect.max_tokens = "max_completion_tokens";
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dialect {
    /// The member that limits the tokens of an answer.
    pub max_tokens: &'static str,
    /// The word for "call some tool".
    pub required: &'static str,
    /// Whether `tool_choice` has an effect. Where it has none, a choice is made by declaring only the
    /// tools that may be called.
    pub tool_choice: bool,
    /// Whether a choice among some of the declared tools, `allowed_tools`, is understood. Where it is
    /// not, the other tools are not declared.
    pub allowed_tools: bool,
    /// Whether `parallel_tool_calls` is understood.
    pub parallel_tool_calls: bool,
    /// Whether `stream_options` is understood, by which a stream tells its usage.
    pub stream_options: bool,
    /// Whether a declared function may be `strict`.
    pub strict: bool,
    /// The members of an answer that hold reasoning to be echoed: the first that was there is.
    pub reasoning: &'static [&'static str],
    /// Whether every assistant message must hold the first of `reasoning`, if only as `""`.
    pub reasoning_always: bool,
    /// Whether content that came as an array of parts, reasoning among them, is echoed as one.
    pub content_parts: bool,
    /// What an id of a call may look like.
    pub call_ids: CallIds,
    /// Whether a user message can hold images.
    pub images: bool,
    /// Whether a user message can hold files and sound.
    pub files: bool,
    /// Whether schemas are sent in the few keywords that Ollama passes on.
    pub plain_schemas: bool,
}

/// What the id of a call may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallIds {
    /// Anything.
    Any,
    /// Exactly nine letters and digits. Other ids are mapped to such, always to the same.
    NineAlphanumerics,
}

impl Dialect {
    /// What most servers understand.
    pub const STANDARD: Dialect = Dialect {
        max_tokens: "max_tokens",
        required: "required",
        tool_choice: true,
        allowed_tools: false,
        parallel_tool_calls: true,
        stream_options: true,
        strict: true,
        reasoning: &["reasoning_details", "reasoning_content", "reasoning"],
        reasoning_always: false,
        content_parts: false,
        call_ids: CallIds::Any,
        images: true,
        files: true,
        plain_schemas: false,
    };

    /// What OpenAI's own server understands.
    pub const OPENAI: Dialect = Dialect {
        max_tokens: "max_completion_tokens",
        allowed_tools: true,
        ..Dialect::STANDARD
    };
}

impl CallIds {
    /// The form in which an id is sent.
    pub(super) fn map(self, id: &str) -> std::borrow::Cow<'_, str> {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match self {
            CallIds::NineAlphanumerics if !fits => nine(id).into(),
            _ => id.into(),
        }
    }
}

/// FNV-1a over the id, in the letters and digits: the same in every process.
fn nine(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    hash ^= hash >> 32;
    let mut digits = String::with_capacity(9);
    for _ in 0..9 {
        digits.push(char::from(DIGITS[(hash % 62) as usize]));
        hash /= 62;
    }
    digits
}
