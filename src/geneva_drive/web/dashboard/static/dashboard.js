// The script of every page. Reading works without it.
import { writeTimes } from "./times.js";
import { startLive } from "./live.js";
import { startKeys } from "./keys.js";
import { startForms } from "./forms.js";
import { startCopies } from "./copies.js";
import { startSelection } from "./selection.js";

document.body.classList.add("has-script");
writeTimes(document);
startForms();
startCopies();
startSelection();
startKeys();
startLive();
