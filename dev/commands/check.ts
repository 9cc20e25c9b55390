import { runChecks } from "../checks.ts";
import { Failure } from "../failure.ts";
import { step } from "../progress.ts";

try {
  await runChecks(process.cwd(), step);
} catch (thrown) {
  // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
