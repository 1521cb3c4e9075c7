//! The variant of a URL, in words.

/// The request headers that tell records of one URL apart, one a line, to follow the URL: ` (accept: text/turtle)`, or
/// nothing.
///
/// ```
/// use urldb_text::variant_suffix;
///
/// let variant = "accept: text/turtle\naccept-language: de";
/// assert_eq!(variant_suffix(Some(variant)), " (accept: text/turtle, accept-language: de)");
/// assert_eq!(variant_suffix(None), "");
/// ```
pub fn variant_suffix(variant: Option<&str>) -> String {
    variant.map_or_else(String::new, |it| format!(" ({})", it.replace('\n', ", ")))
}
