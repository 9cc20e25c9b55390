import { tell } from "./history.ts";
import { profileOf } from "./profile.ts";
import { story } from "./story.ts";

const told = await tell(profileOf(Number(process.argv[2])));
console.log(await story(told));
console.log(told.violation?.detail);
