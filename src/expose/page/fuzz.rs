//! What somebody wants to see, as any query says it.

use proptest::prelude::*;

use super::view::{Filter, View};
use crate::fuzz::{QUERY, hostile, mutation::mutated};

const TOKENS: &[&str] = &[
    "&",
    "=",
    "%",
    "%00",
    "%ff",
    "%22",
    "+",
    "state=stalled",
    "state=idle",
    "state=",
    "page=0",
    "page=99999999999999999999",
    "page=-1",
    "page=2",
    "q=",
    "q=%3Cscript",
    "source=",
    "lease=",
    "\"><script>",
    "é",
    "\u{202e}",
    "javascript:",
    "//host/",
];

#[test]
fn query_of_the_page_and_the_address_made_of_it_say_the_same() {
    let known = ["state=idle&state=stalled&q=caf%C3%A9&page=3", "source=s&lease=l%2Fm", "q=a&source=b+c&x=y"];
    let known = known.map(|text| text.as_bytes().to_vec()).to_vec();
    let queries = mutated(known, TOKENS).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    QUERY.run((prop_oneof![4 => queries, 1 => hostile::text()], 0_usize..5_000), |(query, leases)| {
        let (list, live) = (View::list(&query), View::live(&query));
        for view in [&list, &live] {
            let (path, again) =
                view.live_link().split_once('?').map(|(path, query)| (path.to_owned(), query.to_owned())).unwrap();
            prop_assert_eq!(path, "live");
            // It stands in an attribute, and must stay within the exporter's own pages.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"*-._%+&=".contains(&byte);
            prop_assert!(again.bytes().all(plain), "{again}");
            let understood = match view.clone() {
                View::List(filter) => View::List(filter.understood()),
                lease @ View::Lease { .. } => lease,
            };
            prop_assert_eq!(View::live(&again), understood);
        }
        let View::List(filter) = list else { unreachable!() };
        let (page, of): (usize, usize) = Filter::page_of(&filter, leases);
        prop_assert!(page < of && of == leases.div_ceil(100).max(1));
        Ok(())
    });
}
