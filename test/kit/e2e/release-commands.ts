import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { mainBinary } from "#dev/components.ts";
import { run } from "#dev/run.ts";
import { instance } from "./e2e.ts";

/** Version of the release in the commands of docs/install.md. */
export const VERSION_ON_PAGE = "0.2.0";

/**
 * Lines of the code block of docs/install.md that contains the text.
 * @param section heading of the section with the block
 */
export function commandsIn(section: string, text: string): readonly string[] {
  const [, found = ""] = readFileSync("docs/install.md", "utf8").split(`## ${section}\n`);
  const [own = ""] = found.split(/^## /m);
  const blocks = [...own.matchAll(/^```\w+.*\n([\s\S]*?)^```/gm)].map(([, lines = ""]) => lines);
  const block = blocks.find((lines) => lines.includes(text));
  if (block === undefined) throw new Error(`docs/install.md, ${section}: no block has "${text}"`);
  return block.trimEnd().split("\n");
}

/**
 * Types a command of the page in the folder of a release, with kubectl and Helm.
 * @param home folder for files of both programs
 * @returns what it printed
 */
export async function typedIn(folder: string, version: string, command: string, home: string): Promise<string> {
  const programs = [mainBinary("kubectl"), mainBinary("helm")].map((file) => dirname(file));
  const env = { HOME: home, PATH: [...programs, process.env.PATH].join(":"), KUBECONFIG: instance.kubeconfig };
  const shell = ["-C", folder, "bash", "-euo", "pipefail", "-c", command.replaceAll(VERSION_ON_PAGE, version)];
  return (await run("env", shell, { env })).stdout;
}
