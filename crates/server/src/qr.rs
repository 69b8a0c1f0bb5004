//! QR codes.

use qrcodegen::{QrCode, QrCodeEcc};

/// The rows of the code, `1` where it is dark. `None` for a text that is too long for any.
pub(crate) fn rows(text: &str) -> Option<Vec<String>> {
    // Screens have no scratches: the least correction makes the fewest and largest squares.
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let side = 0..code.size();
    let row = |y| side.clone().map(|x| if code.get_module(x, y) { '1' } else { '0' }).collect();
    Some(side.clone().map(row).collect())
}
