//! What the model, the schema and the compiler call a tool and its parameters.

/// The name of a tool, made from the name of its function or type.
pub(crate) fn tool(identifier: &str) -> String {
    let name = ascii(&snake_case(identifier));
    match name.strip_suffix("_tool") {
        Some(rest) if !rest.trim_matches('_').is_empty() => rest.to_owned(),
        _ => name,
    }
}

/// The property that a parameter is in the schema.
pub(crate) fn property(identifier: &str) -> String {
    ascii(identifier)
}

/// What every provider accepts as the name of a tool: `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`.
pub(crate) fn is_portable(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// What every provider accepts as the key of a property: `^[a-zA-Z0-9_.-]{1,64}$`.
pub(crate) fn is_portable_property(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// The type that a function's tool is: `weather_lookup` → `WeatherLookup`, and `搜索` → `搜索Tool`, because its script
/// has no upper case.
pub(crate) fn unit_type(identifier: &str) -> String {
    let camel = camel_case(identifier);
    let is_caseless = |c: char| c.is_alphabetic() && !c.is_uppercase() && !c.is_lowercase();
    if camel.starts_with(is_caseless) {
        format!("{camel}Tool")
    } else {
        camel
    }
}

fn camel_case(identifier: &str) -> String {
    let mut camel = String::new();
    for word in identifier.split('_') {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            camel.extend(first.to_uppercase());
            camel.extend(letters);
        }
    }
    camel
}

/// A word starts at an upper-case letter after a lower-case one (`get|Http`) and at the last letter of an
/// acronym (`HTTP|Get`).
pub(crate) fn snake_case(identifier: &str) -> String {
    let letters: Vec<char> = identifier.chars().collect();
    let mut snake = String::new();
    for (index, letter) in letters.iter().enumerate() {
        if letter.is_uppercase() && index > 0 {
            let before = letters.get(index - 1).copied().unwrap_or('_');
            let ends_acronym = letters
                .get(index + 1)
                .is_some_and(|next| next.is_lowercase());
            if before != '_' && (!before.is_uppercase() || ends_acronym) {
                snake.push('_');
            }
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Latin letters without their marks; what has no ASCII form is kept.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '\u{300}'..='\u{36f}' => {}
            _ if letter.is_ascii() => plain.push(letter),
            _ => match FOLDED.iter().find(|(marked, _)| marked.contains(letter)) {
                Some((_, base)) => plain.push_str(base),
                None => plain.push(letter),
            },
        }
    }
    plain
}

const FOLDED: &[(&str, &str)] = &[
    ("àáâãäåāăąǎ", "a"),
    ("ÀÁÂÃÄÅĀĂĄǍ", "A"),
    ("æ", "ae"),
    ("Æ", "AE"),
    ("çćĉċč", "c"),
    ("ÇĆĈĊČ", "C"),
    ("ďđð", "d"),
    ("ĎĐÐ", "D"),
    ("èéêëēĕėęěẽ", "e"),
    ("ÈÉÊËĒĔĖĘĚẼ", "E"),
    ("ĝğġģǧ", "g"),
    ("ĜĞĠĢǦ", "G"),
    ("ĥħ", "h"),
    ("ĤĦ", "H"),
    ("ìíîïĩīĭįıǐ", "i"),
    ("ÌÍÎÏĨĪĬĮİǏ", "I"),
    ("ĵ", "j"),
    ("Ĵ", "J"),
    ("ķ", "k"),
    ("Ķ", "K"),
    ("ĺļľŀł", "l"),
    ("ĹĻĽĿŁ", "L"),
    ("ñńņňŋ", "n"),
    ("ÑŃŅŇŊ", "N"),
    ("òóôõöøōŏőǒơ", "o"),
    ("ÒÓÔÕÖØŌŎŐǑƠ", "O"),
    ("œ", "oe"),
    ("Œ", "OE"),
    ("ŕŗř", "r"),
    ("ŔŖŘ", "R"),
    ("śŝşšș", "s"),
    ("ŚŜŞŠȘ", "S"),
    ("ß", "ss"),
    ("ẞ", "SS"),
    ("ţťŧț", "t"),
    ("ŢŤŦȚ", "T"),
    ("þ", "th"),
    ("Þ", "TH"),
    ("ùúûüũūŭůűųǔư", "u"),
    ("ÙÚÛÜŨŪŬŮŰŲǓƯ", "U"),
    ("ŵ", "w"),
    ("Ŵ", "W"),
    ("ýÿŷ", "y"),
    ("ÝŸŶ", "Y"),
    ("źżž", "z"),
    ("ŹŻŽ", "Z"),
];
