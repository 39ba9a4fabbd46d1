"use strict";
// Shows the document that this very service serves; nothing is fetched from anywhere else.
window.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("docs");
  const url = new URL(place.dataset.document, document.baseURI).href;
  // The page may connect to the address that it came from only, also where public_url is another one.
  const here = { url: url.slice(0, url.lastIndexOf("/")) };
  const updateJsonSpec = (update) => (spec) => update({ ...spec, servers: [here] });
  window.ui = SwaggerUIBundle({
    url,
    plugins: [{ statePlugins: { spec: { wrapActions: { updateJsonSpec } } } }],
    domNode: place,
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    persistAuthorization: false,
    tryItOutEnabled: true,
    validatorUrl: null,
    requestSnippetsEnabled: true,
  });
});
