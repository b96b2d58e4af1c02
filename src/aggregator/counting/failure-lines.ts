/**
 * PodProtectors that could not be counted, in the log: when a core is away, all of them fail again and again for one
 * reason. So each kind of failure has a line at once, and then one in ten seconds, which counts the others.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type Clock } from "../../util/clock.ts";
import { LineLimit } from "../../util/line-limit.ts";
import { type Logger } from "../../util/logger.ts";

/** As often as a person looks at a log that runs. */
const lineEveryMs = 10_000;
/** More than there are kinds of failures. */
const kindsMax = 20;

export class FailureLines {
  readonly #logger: Logger;
  readonly #lines: LineLimit;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#lines = new LineLimit({ everyMs: lineEveryMs, keysMax: kindsMax, clock });
  }

  /** It will be tried again. */
  failed(podProtector: ObjectKey, err: unknown): void {
    this.#lines.tell(errorLabel(err), (others) => {
      const fields = { podProtector, err, ...(others > 0 && { others }) };
      this.#logger.warn("Cannot aggregate a PodProtector, retrying", fields);
    });
  }

  /** Tells what is left. */
  close(): void {
    this.#lines.close();
  }
}
