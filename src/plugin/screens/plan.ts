import { at, itemsAt, textAt, textsAt, type Values } from "../fields.ts";
import { type Line, type Tone, table } from "../lines.ts";
import { wrapped } from "../text.ts";

const TONES: Readonly<Record<string, Tone>> = { Done: "good", Waits: "warn", Refused: "bad", Unforeseen: "warn" };
/** Columns of a wrapped sentence. */
const WIDTH = 98;

/** Exit code by the outcome: 0 it would be carried out, 1 in part or later, 2 refused, 3 cannot tell. */
export function planExitCode(plan: Values): number {
  const outcome = textAt(plan, "outcome");
  if (outcome === "Refused") return 2;
  if (outcome === "Waits" || (outcome === "Done" && itemsAt(plan, "refused").length > 0)) return 1;
  return outcome === "Done" ? 0 : 3;
}

/** The answer of the operator to an edit that nothing has made. */
export function planScreen(plan: Values): readonly Line[] {
  const outcome = textAt(plan, "outcome");
  const steps = itemsAt(plan, "steps");
  const restarts = textsAt(plan, "restarts");
  return [
    [
      { text: outcome, ...(TONES[outcome] === undefined ? {} : { tone: TONES[outcome] }) },
      ...gap(textAt(plan, "message")),
    ],
    ...itemsAt(plan, "refused").flatMap((each) =>
      wrapped(`refused by ${textAt(each, "rule")}: ${textAt(each, "message")}`, WIDTH).map(
        (text): Line => [{ text: `! ${text}`, tone: "warn" }],
      ),
    ),
    ...(restarts.length === 0 ? [] : [[`restarts, in this order: ${restarts.join(", ")}`]]),
    ...(steps.length === 0 ? [] : [[`${steps.length} ${steps.length === 1 ? "step" : "steps"}:`]]),
    ...table(
      steps.map(
        (each, n): Line => [
          `${n + 1}.`,
          textAt(each, "step"),
          textAt(each, "member"),
          textAt(each, "rule"),
          textAt(each, "message"),
        ],
      ),
    ),
    ...(at(plan, "outcome") === undefined ? [["The operator has not answered."]] : []),
  ];
}

function gap(message: string): Line {
  return message === "" ? [] : [`: ${message}`];
}
