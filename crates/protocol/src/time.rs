//! Moments, in microseconds: the resolution that every database we use keeps.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a moment: write it like 2026-01-31T14:02:00Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// The last moment, and it means "never". A later one has no text that every reader takes, so there is none: what is
    /// stored, what is written and what is read back are the same.
    pub const MAX: Self = Self(253_402_128_000_000_000); // 9999-12-30T00:00:00Z
    /// The first moment: RFC 3339 has no year before it.
    pub const MIN: Self = Self(-62_135_596_800_000_000); // 0001-01-01T00:00:00Z

    /// The nearest moment that there is.
    pub const fn from_micros(micros: i64) -> Self {
        if micros > Self::MAX.0 {
            Self::MAX
        } else if micros < Self::MIN.0 {
            Self::MIN
        } else {
            Self(micros)
        }
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// How long from `earlier` to this moment; zero if it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `from_micros` keeps within what can be written.
        let moment = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{moment:.6}")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| TimestampError(text.to_owned()))?;
        Ok(Self::from_micros(moment.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::DateTime)))
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_back_to_the_microsecond() {
        let moment = Timestamp::from_micros(1_763_000_000_123_456);
        assert_eq!(moment.to_string().parse(), Ok(moment));
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn every_moment_reads_back_as_itself_also_at_the_edges() {
        let edges = [i64::MIN, Timestamp::MIN.micros(), -1, 0, 1, Timestamp::MAX.micros(), i64::MAX];
        let starts =
            edges.into_iter().flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]);
        let durations = [0, 1, 31_622_400_000, 1_000_000_000_000_000, 1 << 63, u64::MAX];
        for start in starts.map(Timestamp::from_micros) {
            for moment in durations.map(|millis| start.after(Duration::from_millis(millis))) {
                let text = moment.to_string();
                assert_eq!(text.parse(), Ok(moment), "{text}");
                assert_eq!(Timestamp::from_micros(moment.micros()), moment, "as a database keeps it: {text}");
                let written = serde_json::to_string(&moment).unwrap();
                assert_eq!(serde_json::from_str::<Timestamp>(&written).unwrap(), moment, "{written}");
                assert!(start <= moment && moment <= Timestamp::MAX, "{text}");
            }
        }
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T00:00:00.000000Z");
        assert_eq!(Timestamp::MIN.to_string(), "0001-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        // Moments that a client can write, and that are beyond both ends.
        assert_eq!("9999-12-30T21:59:59Z".parse(), Ok(Timestamp::MAX));
        assert_eq!("-009998-01-01T00:00:00Z".parse(), Ok(Timestamp::MIN));
    }
}
