import { inWords, together } from "./campaign.ts";
import { campaigns } from "./side-by-side.ts";

const r = together(await campaigns(Number(process.argv[2]), Number(process.argv[3])));
console.log(inWords(r));
if (r.broken) console.log("BROKEN", r.broken.profile.seed, r.broken.violation);
process.exit(0);
