"use strict";
// Shows the document that this very service serves; nothing is fetched from anywhere else.
window.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("docs");
  window.ui = SwaggerUIBundle({
    url: new URL(place.dataset.document, document.baseURI).href,
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
