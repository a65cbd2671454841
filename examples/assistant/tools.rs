//! The assistant's tools.

use std::error::Error;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ZonedDateTime, civil::Date, tz::TimeZone};
use tool_core::{ToolCall, ToolError, tool};

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Get the current date and time, in a city.
#[tool]
pub async fn get_time(
    /// City name; include only when stated
    #[param(length = 1..=60)]
    city: Option<String>,
) -> Result<String, ToolError> {
    let now = match &city {
        None => ZonedDateTime::now(),
        Some(city) => Timestamp::now().to_zoned_datetime(zone(city)?),
    };
    Ok(now.strftime("%A, %-d %B %Y, %H:%M (%Z)").to_string())
}

/// The time zone that is named after the city.
fn zone(city: &str) -> Result<TimeZone, ToolError> {
    let wanted = city.trim().replace(' ', "_").to_lowercase();
    let named = jiff::tz::db()
        .available()
        .find(|name| name.as_str().to_lowercase().rsplit('/').next() == Some(wanted.as_str()));
    let name = named.ok_or_else(|| {
        ToolError::new(format!(
            "no time zone is named after {city}; try a larger city near it"
        ))
    })?;
    TimeZone::get(name.as_str()).map_err(ToolError::new)
}

/// Convert an amount between units of temperature, length, mass, volume or speed.
#[tool]
pub async fn convert_unit(
    /// The number to convert
    amount: f64,
    /// Unit of the amount, such as miles
    #[param(length = 1..=40)]
    from: String,
    /// Unit wanted, such as kilometers
    #[param(length = 1..=40)]
    to: String,
) -> Result<String, ToolError> {
    if from.trim().eq_ignore_ascii_case(to.trim()) {
        return Err(ToolError::new(format!(
            "{from} is to be converted to itself; name another unit"
        )));
    }
    let (source, target) = (unit(&from)?, unit(&to)?);
    if source.kind != target.kind {
        return Err(ToolError::new(format!(
            "{from} is a unit of {}, but {to} one of {}",
            source.kind, target.kind
        )));
    }
    let result = (amount * source.factor + source.offset - target.offset) / target.factor;
    Ok(format!("{} {from} = {} {to}", round(amount), round(result)))
}

fn round(number: f64) -> f64 {
    (number * 10_000.0).round() / 10_000.0
}

struct Unit {
    kind: &'static str,
    /// To the base unit: multiply, then add.
    factor: f64,
    offset: f64,
}

fn unit(name: &str) -> Result<Unit, ToolError> {
    const UNITS: &[(&str, f64, f64, &str)] = &[
        ("temperature", 1.0, 0.0, "celsius c °c degrees_celsius"),
        (
            "temperature",
            5.0 / 9.0,
            -160.0 / 9.0,
            "fahrenheit f °f degrees_fahrenheit",
        ),
        ("temperature", 1.0, -273.15, "kelvin k"),
        ("length", 1.0, 0.0, "meter m metre"),
        ("length", 1000.0, 0.0, "kilometer km kilometre"),
        ("length", 0.01, 0.0, "centimeter cm centimetre"),
        ("length", 0.001, 0.0, "millimeter mm millimetre"),
        ("length", 1609.344, 0.0, "mile mi"),
        ("length", 0.9144, 0.0, "yard yd"),
        ("length", 0.3048, 0.0, "foot ft feet"),
        ("length", 0.0254, 0.0, "inch in inches"),
        ("mass", 1.0, 0.0, "gram g"),
        ("mass", 1000.0, 0.0, "kilogram kg kilo"),
        ("mass", 453.592_37, 0.0, "pound lb"),
        ("mass", 28.349_523_125, 0.0, "ounce oz"),
        ("volume", 1.0, 0.0, "liter l litre"),
        ("volume", 0.001, 0.0, "milliliter ml millilitre"),
        ("volume", 3.785_411_784, 0.0, "gallon gal"),
        ("volume", 0.473_176_473, 0.0, "pint pt"),
        ("speed", 1.0, 0.0, "meters_per_second m/s"),
        ("speed", 1.0 / 3.6, 0.0, "kilometers_per_hour km/h kph kmh"),
        ("speed", 0.447_04, 0.0, "miles_per_hour mph"),
        ("speed", 1852.0 / 3600.0, 0.0, "knot kn"),
    ];
    let wanted = name.trim().to_lowercase().replace(' ', "_");
    let singular = wanted.strip_suffix('s').unwrap_or(&wanted);
    let known = UNITS.iter().find(|(.., names)| {
        names
            .split(' ')
            .any(|known| known == wanted || known == singular)
    });
    match known {
        Some(&(kind, factor, offset, _)) => Ok(Unit {
            kind,
            factor,
            offset,
        }),
        None => Err(ToolError::new(format!("the unit {name} is not known"))),
    }
}

/// Calculate the result of an arithmetic expression.
#[tool(name = "calculate")]
pub async fn calculate_tool(
    /// The full expression copied word for word, e.g. '12 * (7 + 3)' or '15% of 80'
    #[param(length = 1..=200)]
    expression: String,
) -> Result<String, ToolError> {
    let plain = expression
        .replace("% of", " / 100 *")
        .replace(['×', '·'], "*")
        .replace('÷', "/")
        .replace(',', "");
    let result = fasteval::ez_eval(&plain, &mut fasteval::EmptyNamespace)
        .map_err(|error| ToolError::new(format!("`{expression}`: {error}")))?;
    Ok(format!("{expression} = {}", round(result)))
}

/// Count the days between two dates.
#[tool]
pub async fn days_between(
    /// The first date, YYYY-MM-DD
    #[param(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    start: String,
    /// The second date, YYYY-MM-DD
    #[param(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    end: String,
) -> Answer<String> {
    let days = (end.parse::<Date>()? - start.parse::<Date>()?).get_days();
    Ok(format!("{days} days"))
}

/// Where a path that the model gave leads, as long as it stays in the folder.
fn inside(root: &Path, path: &str) -> Answer<PathBuf> {
    let found = root
        .join(path)
        .canonicalize()
        .map_err(|error| format!("{path}: {error}"))?;
    match found.starts_with(root.canonicalize()?) {
        true => Ok(found),
        false => Err(format!("{path} is outside the folder of the assistant").into()),
    }
}

/// Files below a folder, and no others.
pub struct ListFiles {
    pub root: PathBuf,
}

#[tool]
impl ListFiles {
    /// List the files in a folder.
    async fn execute(
        &self,
        /// Path of the folder
        #[param(length = 1..=200)]
        folder: String,
    ) -> Answer<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(inside(&self.root, &folder)?)? {
            let entry = entry?;
            let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
            names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        Ok(names.join("\n"))
    }
}

/// Texts below a folder, and no others.
pub struct ReadFile {
    pub root: PathBuf,
}

#[tool(spill_to_file = 20_000)]
impl ReadFile {
    /// Read the text of a file.
    async fn execute(
        &self,
        /// Path of the file
        #[param(length = 1..=200)]
        path: String,
    ) -> Answer<String> {
        Ok(std::fs::read_to_string(inside(&self.root, &path)?)?)
    }
}

/// Word counts of texts below a folder.
pub struct CountWords {
    pub root: PathBuf,
}

#[tool(max_run_time = "10s")]
impl CountWords {
    /// Count the words in a file.
    async fn execute(
        &self,
        /// Path of the file
        #[param(length = 1..=200)]
        path: String,
        tool_call: &ToolCall,
    ) -> Answer<String> {
        let text = std::fs::read_to_string(inside(&self.root, &path)?)?;
        let lines = text.lines().count();
        let mut words = 0;
        for (number, line) in text.lines().enumerate() {
            words += line.split_whitespace().count();
            if number % 1000 == 0 {
                tool_call.progress(format!("{path}, line {}", number + 1), number + 1, lines);
            }
        }
        Ok(format!("{words} words in {path}"))
    }
}
