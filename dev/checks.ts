import { staleFiles } from "../scripts/generate.ts";
import { Failure } from "./failure.ts";
import type { Step } from "./progress.ts";
import { run } from "./run.ts";

/** What holds without running anything: types, lint and format, generated files. @param root the repository */
export async function runChecks(root: string, step: Step): Promise<void> {
  await step("types", () => runTool(root, "typescript/bin/tsc", ["--project", root]));
  await step("lint and format", () => runTool(root, "@biomejs/biome/bin/biome", ["check", "--colors=off", root]));
  await step("generated files are fresh", async () => {
    const stale = await staleFiles(root);
    if (stale.length > 0) throw new Failure(`not what the code says: ${stale.join(", ")}; run npm run generate`);
  });
}

async function runTool(root: string, script: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(process.execPath, [`${root}/node_modules/${script}`, ...args], {
    mayFail: true,
  });
  if (code !== 0) throw new Failure(`${stdout}${stderr}`.trim());
}
