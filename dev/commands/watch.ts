import { spawn } from "node:child_process";
import { join } from "node:path";

// Runs unit tests again when a file that they import changes. Arguments are vitest's: parts of file names, `-t NAME`.

const vitest = join(process.cwd(), "node_modules/vitest/vitest.mjs");
const child = spawn(process.execPath, [vitest, "watch", "--project", "unit", ...process.argv.slice(2)], {
  stdio: "inherit",
});
child.on("exit", (code) => {
  process.exitCode = code ?? 0;
});
