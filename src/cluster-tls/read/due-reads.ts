import { providerOf } from "#api/tls.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import { ABSENT_MS, IN_THE_WAY_MS, isInTheWay, type Known, lastsMs, REFUSED_MS, UNMADE_MS } from "./answers.ts";
import { type Given, isAwaited, isMadeHere, isRequest, purposeOf, type What } from "./objects.ts";
import { sideOf } from "./purposes.ts";

type Answers = ReadonlyMap<What, Known>;

interface Now {
  readonly monotonicMs: number;
  readonly wallMs: number;
  /** Whether the operator has a certificate to connect with. Members may start before it exists. */
  readonly mayConnect: boolean;
}

/** Objects without a valid answer, and one of the forbidden objects. */
export function dueReads(given: Given, known: Answers, wanted: readonly What[], now: Now): readonly What[] {
  const isDue = (what: What) => now.monotonicMs - atMsOf(known, what) >= validForMs(given, known, what, now);
  return [...permitted(known, wanted).filter(isDue), ...forbiddenOne(known, wanted, now)];
}

/** The object that was tried longest ago, at least a minute, of those that are not due. */
export function nextInTurn(
  known: Answers,
  wanted: readonly What[],
  due: readonly What[],
  nowMs: number,
): What | undefined {
  // The order is by the time of the attempt: otherwise an object with a permanent error would take every turn.
  const askedMs = (what: What) => known.get(what)?.askedMs ?? Number.NEGATIVE_INFINITY;
  const others = permitted(known, wanted).filter((what) => !due.includes(what));
  const [oldest] = others.toSorted((a, b) => askedMs(a) - askedMs(b));
  return oldest === undefined || nowMs - askedMs(oldest) < MINUTELY_MS ? undefined : oldest;
}

function permitted(known: Answers, wanted: readonly What[]): readonly What[] {
  return wanted.filter((what) => known.get(what)?.refused === undefined);
}

function atMsOf(known: Answers, what: What): number {
  return known.get(what)?.atMs ?? Number.NEGATIVE_INFINITY;
}

function validForMs(given: Given, known: Answers, what: What, { wallMs, mayConnect }: Now): number {
  const answer = known.get(what)?.answer;
  // The Certificate's status matters while its Secret is missing.
  if (isRequest(what) && known.get(purposeOf(what))?.answer.is === "absent") return ABSENT_MS;
  if (isInTheWay(given, what, answer)) return IN_THE_WAY_MS;
  if (answer?.is === "absent" && isMadeHere(given, what)) return UNMADE_MS;
  const isUserProvided = what === "operator" && providerOf(given.cluster.spec, sideOf(what)) === "Secret";
  return lastsMs(answer, isAwaited(given, what) || (isUserProvided && !mayConnect), wallMs);
}

/** The forbidden object that was tried longest ago: one attempt shows whether the right was granted for all. */
function forbiddenOne(known: Answers, wanted: readonly What[], { monotonicMs }: Now): readonly What[] {
  const all = wanted.flatMap((what) => {
    const last = known.get(what);
    return last?.refused === undefined ? [] : [{ what, askedMs: last.askedMs }];
  });
  const inOrder = all.toSorted((a, b) => a.askedMs - b.askedMs);
  const [first, last] = [inOrder.at(0), inOrder.at(-1)];
  if (first === undefined || last === undefined) return [];
  return monotonicMs - last.askedMs < REFUSED_MS ? [] : [first.what];
}
