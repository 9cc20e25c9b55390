import { staleFiles } from "../scripts/generate.ts";
import { wordProblems } from "../scripts/prose/budget.ts";
import { Failure } from "./failure.ts";
import type { Step } from "./progress.ts";
import { run } from "./run.ts";

/** Checks that run nothing: types, lint and format, generated files, words. @param root the repository */
export async function runChecks(root: string, step: Step): Promise<void> {
  await step("types", () => runTool(root, "typescript/bin/tsc", ["--project", root]));
  await step("lint and format", () => runTool(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", root]));
  await step("generated files are fresh", async () => {
    const stale = await staleFiles(root);
    if (stale.length > 0)
      throw new Failure(
        `These generated files differ from what the code generates: ${stale.join(", ")}. Run npm run generate.`,
      );
  });
  await step("words", () => {
    const problems = wordProblems(root);
    if (problems.length > 0) throw new Failure(problems.join("\n"));
    return Promise.resolve();
  });
}

async function runTool(root: string, script: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(process.execPath, [`${root}/node_modules/${script}`, ...args], {
    mayFail: true,
  });
  if (code !== 0) throw new Failure(`${stdout}${stderr}`.trim());
}
