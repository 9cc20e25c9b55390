import { type ParseArgsConfig, parseArgs } from "node:util";
import { Failure } from "./failure.ts";

/**
 * Runs a command of npm with its arguments, and sets the exit code: the number that `main` returns, otherwise 0, or 1 when it fails.
 * @param main prints its own result; a Failure is printed as its message
 */
export async function runCommand(main: (argv: readonly string[]) => unknown): Promise<void> {
  try {
    const code = await main(process.argv.slice(2));
    process.exitCode = typeof code === "number" ? code : 0;
  } catch (thrown) {
    // The message of a Failure is enough. Anything else is a defect of ours, and is printed with its stack.
    console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
    process.exitCode = 1;
  }
}

/** The parsed arguments of a command. @throws Failure with the usage for an argument that it does not know */
export function argumentsOf<T extends ParseArgsConfig>(argv: readonly string[], usage: string, config: T) {
  try {
    return parseArgs<T>({ ...config, args: [...argv] });
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${usage}`);
  }
}
