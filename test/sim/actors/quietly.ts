import { isApiError } from "../../double/index.ts";

/** Does something that an API server may refuse: a refusal is no error of the simulation. */
export async function quietly<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isApiError(error)) return undefined;
    throw error;
  }
}
