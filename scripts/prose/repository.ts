import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Finding, findingsIn } from "./rules.ts";
import { type Text, textsOfCode, textsOfMarkdown } from "./texts.ts";

/** Files that are generated or have texts of other projects. */
const LEFT_OUT =
  /^(src\/etcd\/proto\/|src\/plugin\/rule-texts\.ts$|docs\/(reference\/|when-something-fails\.md)|LICENSE|dev\/licenses\/|config\/)/;
const CODE = /\.(ts|mjs)$/;
/** The last commit before subjects were checked. */
const SUBJECTS_SINCE = "895c780ddaad7362c91968b6c4851c3ef8f4004b";

/** All findings of the work tree and of the subjects of its commits. @param root a git work tree */
export function findingsOf(root: string): readonly Finding[] {
  return [...textsOf(root), ...subjectsOf(root)].flatMap(findingsIn);
}

function textsOf(root: string): readonly Text[] {
  return git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    .split("\n")
    .filter((file) => (CODE.test(file) || file.endsWith(".md")) && !LEFT_OUT.test(file))
    .flatMap((file) => {
      const source = read(join(root, file));
      if (source === undefined) return [];
      return CODE.test(file) ? textsOfCode(file, source) : textsOfMarkdown(file, source);
    });
}

/** Text of a file; undefined when it was deleted in the work tree, where git still lists it. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw thrown;
  }
}

/**
 * Subjects of the commits since SUBJECTS_SINCE; none when the history does not reach back so far, as in a shallow
 * clone.
 */
function subjectsOf(root: string): readonly Text[] {
  try {
    return git(root, "log", "--format=%h %s", `${SUBJECTS_SINCE}..HEAD`)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [hash = "", ...subject] = line.split(" ");
        return { file: "commits/subjects", line: Number.parseInt(hash, 16), kind: "subject", text: subject.join(" ") };
      });
  } catch {
    return []; // the commit is missing in the clone
  }
}

/** Folder that a file counts for: at most the first three levels of its path. */
export function folderOf(file: string): string {
  return dirname(file).split("/").slice(0, 3).join("/");
}

function git(root: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", root, ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
    stdio: ["ignore", "pipe", "ignore"],
  });
}
