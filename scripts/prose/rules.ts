import type { Text, TextKind } from "./texts.ts";

/** One place where a text breaks one rule of CONTRIBUTING.md, "Words". */
export interface Finding extends Text {
  readonly rule: RuleName;
  /** The word, or the length, that breaks the rule. */
  readonly what: string;
}

export type RuleName = "person" | "first-word" | "long-sentence" | "long-doc" | "banned-word" | "subject" | "too-long";

/** Words for people. For a pod, member or process write its name. */
const PERSONS = /\b(who|whom|whose|whoever|nobody|somebody|everybody)\b/gi;
/** First words of doc comments that depend on the text before them. */
const WEAK_START = /^(The same|It|That|Of|By|With|In|As|And)\b/;
const BANNED =
  /\b(by now|anew|besides|meanwhile|in vain|goes|told|tells|says|is looked after|believes|hears|comes to|another one)\b/gi;

const MOST_WORDS_PER_SENTENCE = 25;
const MOST_SENTENCES_PER_DOC = 3;
/** Most characters of a paragraph (five lines of 120 columns), a list item (two lines) and a cell. */
const MOST_CHARACTERS: Partial<Record<TextKind, number>> = { paragraph: 600, bullet: 240, cell: 160 };
const MOST_CHARACTERS_PER_SUBJECT = 72;
/** `area: imperative`, such as `cluster: renew certificates during a pause`. */
const SUBJECT = /^[a-z0-9][a-z0-9 ,/-]*: [a-z]/;

export function findingsIn(text: Text): readonly Finding[] {
  const found = (rule: RuleName, what: string): Finding => ({ ...text, rule, what });
  const findings: Finding[] = [];
  const plain = text.text.replace(/`[^`]*`/g, "`code`");
  for (const [word] of plain.matchAll(PERSONS)) findings.push(found("person", word));
  for (const [word] of plain.matchAll(BANNED)) findings.push(found("banned-word", word));
  const [weak] = text.kind === "doc" ? (WEAK_START.exec(plain) ?? []) : [];
  if (weak !== undefined) findings.push(found("first-word", weak));
  const sentences = sentencesOf(plain);
  for (const sentence of sentences) {
    const words = sentence.split(" ").length;
    if (words > MOST_WORDS_PER_SENTENCE) findings.push(found("long-sentence", `${words} words`));
  }
  if (text.kind === "doc" && sentences.length > MOST_SENTENCES_PER_DOC)
    findings.push(found("long-doc", `${sentences.length} sentences`));
  const most = MOST_CHARACTERS[text.kind];
  if (most !== undefined && text.text.length > most) findings.push(found("too-long", `${text.text.length} characters`));
  if (text.kind === "subject" && !(SUBJECT.test(text.text) && text.text.length <= MOST_CHARACTERS_PER_SUBJECT))
    findings.push(found("subject", `${text.text.length} characters`));
  return findings;
}

function sentencesOf(text: string): readonly string[] {
  return text.split(/(?<=[.!?]["')]?)\s+(?=[A-Z`"'(\d…])/);
}
