import { mount } from "./mount.js";
import { httpTransport } from "./transports.js";

mount(document.getElementById("workbench"), httpTransport(), { address: true });
