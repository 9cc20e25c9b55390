import { runChecks } from "../checks.ts";
import { runCommand } from "../command.ts";
import { step } from "../progress.ts";

await runCommand(() => runChecks(process.cwd(), step));
