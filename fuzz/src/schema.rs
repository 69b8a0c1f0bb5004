//! Forms from JSON Schema: what is taken can be asked, written and read again.

use holdstead_core::form_from_schema;
use holdstead_protocol::{Form, json};

pub fn run(bytes: &[u8]) {
    let Ok(schema) = json::read(bytes) else { return };
    if let Ok(form) = form_from_schema(None, &schema) {
        assert!(!form.fields.is_empty());
        let written = serde_json::to_value(&form).expect("a form can be written");
        assert_eq!(serde_json::from_value::<Form>(written).ok(), Some(form));
    }
}
