mod encoding;
mod format;

use super::*;
