import { runChecks } from "../checks.ts";
import { Failure } from "../failure.ts";
import { step } from "../progress.ts";

try {
  await runChecks(process.cwd(), step);
} catch (thrown) {
  // The message of a Failure is enough. Anything else is a defect of ours, and is printed with its stack.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
