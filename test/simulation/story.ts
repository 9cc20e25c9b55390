import { type Told, tell } from "./history.ts";

/** Maximum number of printed trace lines. The last lines matter most. */
const LINES = 200;

/** Runs the history again with a trace. The same profile gives the same history. */
export async function story({ profile, violation }: Told): Promise<string> {
  const lines: string[] = [];
  await tell(profile, { trace: (line) => lines.push(line) });
  const left = lines.length - LINES;
  const { weights, ...rest } = profile;
  return [
    `BROKEN: ${violation?.promise}`,
    `        ${violation?.detail}`,
    `profile: ${JSON.stringify(rest)} ${JSON.stringify(Object.fromEntries(weights))}`,
    ...(left > 0 ? [`(${left} lines left out)`] : []),
    ...lines.slice(-LINES),
  ].join("\n");
}
