//! Server-sent events, as the WHATWG's HTML standard defines them.

use memchr::memchr2;

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The type; `message` where the stream names none.
    pub name: &'a [u8],
    /// The data, its lines joined by line feeds.
    pub data: &'a [u8],
}

/// Reads events from bytes that arrive in pieces.
///
/// The data of an event that lies in one piece on one line is not copied. An event that the stream
/// does not finish with an empty line is discarded.
#[derive(Debug, Default)]
pub struct Decoder {
    /// How many bytes of the mark of the byte order were seen; 3 when it is past.
    bom: usize,
    /// The last byte was a carriage return: a line feed belongs to it.
    after_cr: bool,
    /// The start of a line whose end is yet to come.
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    last_id: String,
    retry: Option<u64>,
}

/// The data of the event being read, while it is one line of the current piece.
type Borrowed<'a> = Option<&'a [u8]>;

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// Takes the next bytes and hands over the events that they complete.
    ///
    /// # Errors
    ///
    /// What `handle` reports; the rest of the bytes is then dropped.
    pub fn push<E>(
        &mut self,
        bytes: &[u8],
        mut handle: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = self.skip_bom(bytes);
        let mut borrowed = None;
        if self.after_cr && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_cr = false;
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let line = &rest[..end];
            let is_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_cr {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if self.line.is_empty() {
                self.take_line(line, &mut borrowed, &mut handle)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.keep(&mut borrowed);
                let mut inner = None;
                self.take_line(&whole, &mut inner, &mut handle)?;
                self.keep(&mut inner);
                whole.clear();
                self.line = whole;
            }
        }
        self.keep(&mut borrowed);
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// The id that the stream gave last, by which it could be resumed.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// How many milliseconds the stream asks to wait before it is opened anew.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// How many bytes of an event that is not complete are held.
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn skip_bom<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while self.bom < BOM.len() {
            match bytes.first() {
                None => break,
                Some(byte) if *byte == BOM[self.bom] => {
                    self.bom += 1;
                    bytes = &bytes[1..];
                }
                Some(_) => {
                    self.line.extend_from_slice(&BOM[..self.bom]);
                    self.bom = BOM.len();
                }
            }
        }
        bytes
    }

    fn take_line<'a, E>(
        &mut self,
        line: &'a [u8],
        borrowed: &mut Borrowed<'a>,
        handle: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if line.is_empty() {
            return self.dispatch(borrowed, handle);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match field {
            b"data" if !self.has_data => {
                self.has_data = true;
                *borrowed = Some(value);
            }
            b"data" => {
                self.keep(borrowed);
                self.data.push(b'\n');
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.last_id = String::from_utf8_lossy(value).into_owned();
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).unwrap_or_default();
                self.retry = digits.parse().ok();
            }
            // A comment has an empty field.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(
        &mut self,
        borrowed: &mut Borrowed<'_>,
        handle: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        if self.has_data {
            let name = match self.name.as_slice() {
                b"" => b"message",
                name => name,
            };
            let data = borrowed.take().unwrap_or(&self.data);
            result = handle(Event { name, data });
        }
        self.has_data = false;
        self.data.clear();
        self.name.clear();
        result
    }

    /// Copies the data that lies in the current piece.
    fn keep(&mut self, borrowed: &mut Borrowed<'_>) {
        if let Some(data) = borrowed.take() {
            self.data.extend_from_slice(data);
        }
    }
}
