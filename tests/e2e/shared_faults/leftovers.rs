//! What a thousand faulty scrapes leave behind: nothing.
