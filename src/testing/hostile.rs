//! Texts chosen to break a reader or a page that shows them.

use proptest::prelude::*;

/// Tokens with a meaning in a format, a terminal, a browser or Unicode.
const TOKENS: [&str; 42] = [
    "\"",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "'",
    "`",
    "{",
    "}",
    "=",
    ",",
    " ",
    "#",
    "# EOF\n",
    "# HELP a b\n",
    "\"} 1\n",
    "\\n",
    "\\\"",
    "<",
    ">",
    "</script>",
    "<!--",
    "-->",
    "&amp;",
    "&#0;",
    "&",
    "{{7*7}}",
    "{%",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffd}",
    "\u{e0041}",
    "e\u{301}",
    "\u{10ffff}",
];

/// A text of special tokens, plain words and arbitrary characters.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        4 => prop::sample::select(&TOKENS[..]).prop_map(str::to_owned),
        2 => "[a-z0-9_./-]{1,8}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(token, 0..8).prop_map(|tokens| tokens.concat())
}

/// A name as a store may return it: not empty, and no longer than the limit of 1,024 bytes.
pub(crate) fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => text(),
        1 => "[a-z\"\\\\]{1000,1024}",
    ]
    .prop_filter("a name is not empty", |name| !name.is_empty())
}
