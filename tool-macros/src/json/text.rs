//! JSON files. Small on purpose: a parser that counts lines spares the build a dependency.

use super::{Json, Member, Place, Value};

const DEPTH: usize = 128;

/// A line and what is wrong there.
pub(crate) type Fault = (usize, String);

pub(crate) fn parse(text: &str) -> Result<Json, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        rest: text,
        line: 1,
    };
    let json = reader.value(0)?;
    reader.space();
    match reader.rest.chars().next() {
        None => Ok(json),
        Some(extra) => reader.fault(format!("`{extra}` after the end of the JSON value")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn fault<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err((self.line, message.into()))
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn space(&mut self) {
        let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.advance(self.rest.len() - rest.len());
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.starts_with(token);
        if found {
            self.advance(token.len());
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        if depth > DEPTH {
            return self.fault("nested too deeply");
        }
        self.space();
        let place = Place::Line(self.line);
        let value = match self.rest.chars().next() {
            None => return self.fault("the file ends where a value is expected"),
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Value::String(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            Some(_) if self.eat("null") => Value::Null,
            Some(_) if self.eat("true") => Value::Bool(true),
            Some(_) if self.eat("false") => Value::Bool(false),
            Some(other) => return self.fault(format!("expected a value, found `{other}`")),
        };
        Ok(Json { value, place })
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        self.advance(1);
        let mut members: Vec<Member> = Vec::new();
        self.space();
        while !self.eat("}") {
            if !self.rest.starts_with('"') {
                return self.fault("expected a key in double quotes");
            }
            let place = Place::Line(self.line);
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return self.fault(format!("`{key}` is written twice in this object"));
            }
            self.space();
            if !self.eat(":") {
                return self.fault(format!("expected `:` after `\"{key}\"`"));
            }
            let json = self.value(depth + 1)?;
            members.push(Member { key, place, json });
            self.separator('}')?;
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        self.advance(1);
        let mut items = Vec::new();
        self.space();
        while !self.eat("]") {
            items.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
        Ok(Value::Array(items))
    }

    fn separator(&mut self, end: char) -> Result<(), Fault> {
        self.space();
        if self.eat(",") {
            self.space();
            if self.rest.starts_with(end) {
                return self.fault(format!("a comma before `{end}` is not JSON"));
            }
            return Ok(());
        }
        if self.rest.starts_with(end) {
            return Ok(());
        }
        self.fault(format!("expected `,` or `{end}`"))
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let end = self
            .rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(self.rest.len());
        let number = self.advance(end);
        let digits = number.strip_prefix('-').unwrap_or(number);
        let leading_zero = digits.len() > 1
            && digits.starts_with('0')
            && digits[1..].starts_with(|c: char| c.is_ascii_digit());
        let bare_point = digits.starts_with('.') || digits.ends_with('.') || digits.contains(".e");
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() && !leading_zero && !bare_point => {
                Ok(Value::Number(number.to_owned()))
            }
            _ => self.fault(format!("`{number}` is not a number of JSON")),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.advance(1);
        let mut text = String::new();
        loop {
            let Some(letter) = self.rest.chars().next() else {
                return self.fault("this string has no end");
            };
            self.advance(letter.len_utf8());
            match letter {
                '"' => return Ok(text),
                '\\' => text.push(self.escape()?),
                control if control < ' ' => {
                    return self.fault("a line break or control character in a string");
                }
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let letter = self.rest.chars().next().unwrap_or(' ');
        self.advance(letter.len_utf8());
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            other => return self.fault(format!("`\\{other}` is not an escape of JSON")),
        })
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.unit()?;
        let code = match first {
            0xd800..=0xdbff if self.eat("\\u") => {
                let second = self.unit()?;
                0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff)
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(letter) => Ok(letter),
            None => self.fault("half of a surrogate pair"),
        }
    }

    fn unit(&mut self) -> Result<u32, Fault> {
        match u32::from_str_radix(self.rest.get(..4).unwrap_or(""), 16) {
            Ok(unit) => {
                self.advance(4);
                Ok(unit)
            }
            Err(_) => self.fault("expected four hexadecimal digits after `\\u`"),
        }
    }
}
