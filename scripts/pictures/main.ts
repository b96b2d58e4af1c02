// Writes docs/status.svg and docs/explain.svg: node scripts/n.mjs scripts/pictures/main.ts
import { writeFileSync } from "node:fs";
import { commandPictures, fileOf } from "./command-pictures.ts";

for (const picture of await commandPictures()) writeFileSync(fileOf(picture), picture.svg);
