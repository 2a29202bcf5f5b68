// What the pages do beyond HTML: nothing yet that they need.
"use strict";
