import { startPage } from "./theme.js";

startPage();
