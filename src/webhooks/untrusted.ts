import { OperatorError } from "#base/error.ts";
import { isMap, told } from "#base/json.ts";

// What a webhook is asked with was checked by nobody: whoever reaches the port may ask.

/** @throws OperatorError InvalidSpec when it is no object. @param where for the words */
export function record(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (isMap(value)) return value;
  throw invalid(`${where} is ${told(value)}; it must be an object`);
}

/** @throws OperatorError InvalidSpec when it is no text, or an empty one */
export function text(value: unknown, where: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${where} is ${told(value)}; it must be a text`);
}

export function invalid(sentence: string): OperatorError {
  return new OperatorError("InvalidSpec", sentence);
}

/** @throws OperatorError InvalidSpec when it is not just this */
export function expect(where: string, is: unknown, mustBe: string): void {
  if (is !== mustBe) throw invalid(`${where} is ${told(is)}; it must be ${mustBe}`);
}
