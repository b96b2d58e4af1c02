/** The Accept header: which of the forms of an answer the client wants and the double has. */
import { ApiError } from "../engine/status.ts";

export type AnswerForm = "json" | "table";

function formOf(clause: string): AnswerForm | undefined {
  const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
  if (!/^(application\/json|\*\/\*|application\/\*|text\/.*)$/.test(type)) return undefined;
  const named = new Map(parameters.map((text) => text.split("=") as [string, string | undefined]));
  const as = named.get("as");
  if (as === undefined) return "json";
  return as === "Table" && named.get("v") === "v1" && named.get("g") === "meta.k8s.io" ? "table" : undefined;
}

/** The first form in `accept` that the double has; JSON without a header. Throws 406. */
export function answerFormOf(accept: string | undefined): AnswerForm {
  if (accept === undefined || accept === "") return "json";
  for (const clause of accept.split(",")) {
    const form = formOf(clause.trim());
    if (form !== undefined) return form;
  }
  throw new ApiError(406, "NotAcceptable", "only the following media types are accepted: application/json");
}
