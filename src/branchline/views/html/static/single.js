// The script of a single file.
import { PackedSource } from "./packed.js";
import { checkPage, parsedPage } from "./page_check.js";
import { startSession } from "./session.js";
import { startPage } from "./theme.js";

const parsed = parsedPage();
startPage();
startSession(new PackedSource()).then((page) => { globalThis.branchline = page; }).finally(() => checkPage(parsed));
