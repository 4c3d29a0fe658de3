// The script of a single file.
import { PackedSource } from "./packed.js";
import { startSession } from "./session.js";
import { startPage } from "./theme.js";

startPage();
startSession(new PackedSource()).then((page) => { globalThis.branchline = page; });
