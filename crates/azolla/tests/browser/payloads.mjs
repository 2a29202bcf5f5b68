// Forty texts that become more than text where a page forgets to escape one: in elements, attributes, addresses, comments,
// scripts and styles. What they do when they run is to call `azollaSaw` or to open a dialog; a watched page notices both. The
// tests of the pages themselves use the same list.

import { readFileSync } from "node:fs";

export const payloads = JSON.parse(readFileSync(new URL("./payloads.json", import.meta.url), "utf8"));
